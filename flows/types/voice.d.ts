/**
 * Voice: for hosts that speak and listen. Nothing here does, and a flow that names `voice` is told so.
 */

/** Whoever speaks and listens; a host calls it. */
export interface VoiceProvider {
  id: string;
  providerName: string;
  abilities: { speak?: boolean; speakStream?: boolean; transcribe?: boolean; listVoices?: boolean };
  defaultModels?: { speak?: string; transcribe?: string };
  speak?(options: any): Promise<any>;
  speakStream?(options: any): AsyncIterable<any>;
  transcribe?(options: any): Promise<any>;
  listVoices?(options?: any): Promise<any>;
}

export interface VoiceConfig {
  provider?: VoiceProvider;
  tts?: { model?: string; voice?: string; speed?: number };
}

/** One provider of several, each for what it is named for. */
export declare function createCompositeVoiceProvider(parts: {
  speak?: VoiceProvider;
  transcribe?: VoiceProvider;
}): VoiceProvider;

export declare class VoiceError extends Error {
  constructor(message: string, options?: { kind?: string; provider?: string; cause?: unknown });
  readonly kind: string;
  readonly provider?: string;
}
