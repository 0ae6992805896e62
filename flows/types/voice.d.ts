/**
 * Objects of an author's own that speak or listen. The engine asks none itself; a handler may.
 */

export interface VoiceAbilities {
  readonly speak: boolean;
  readonly speakStream: boolean;
  readonly transcribe: boolean;
  readonly listVoices: boolean;
}
export interface VoiceProvider {
  readonly id: string;
  readonly providerName: string;
  readonly abilities: VoiceAbilities;
  speak?(options: any): Promise<any>;
  speakStream?(options: any): AsyncIterable<any>;
  transcribe?(options: any): Promise<any>;
  listVoices?(): Promise<any[]>;
}
/** What a flow may say of its voice. It changes nothing here, and a warning says so. */
export interface VoiceConfig {
  provider?: VoiceProvider;
  tts?: { model?: string; voice?: string; speed?: number };
}
type With<K extends keyof VoiceProvider> = VoiceProvider & Required<Pick<VoiceProvider, K>>;

export declare function canSpeak(provider: VoiceProvider): provider is With<"speak">;
export declare function canSpeakStream(provider: VoiceProvider): provider is With<"speakStream">;
export declare function canTranscribe(provider: VoiceProvider): provider is With<"transcribe">;
export declare function canListVoices(provider: VoiceProvider): provider is With<"listVoices">;
/** What a model is told of the voice that a person speaks by: nothing here, because requests come without one. */
export declare function voiceContext(ctx?: object): undefined;
/** One provider of several: each ability is that of the one in its place. */
export declare function createCompositeVoiceProvider(
  slots: Partial<Record<keyof VoiceAbilities, VoiceProvider>>,
): VoiceProvider;

export declare class VoiceError extends Error {
  constructor(options: {
    kind: string;
    provider: string;
    message: string;
    retryable?: boolean;
    status?: number;
    cause?: unknown;
  });
  readonly kind: string;
  readonly provider: string;
  readonly retryable: boolean;
  readonly status?: number;
}
