// What flows import to speak and to listen: kept as it is written, since nothing here does either.
//
// Must not: call a provider. A flow that names one is told so by a warning.

type Provider = Record<string, unknown>;

export class VoiceError extends Error {
  declare readonly kind: string;
  declare readonly provider?: string;

  constructor(message: string, options: { kind?: string; provider?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'VoiceError';
    this.kind = options.kind ?? 'unknown';
    if (options.provider !== undefined) this.provider = options.provider;
  }
}

/** One provider of several, each for what it is named for. */
export function createCompositeVoiceProvider(parts: { speak?: Provider; transcribe?: Provider }): Provider {
  const able = (part: Provider | undefined, what: string) =>
    Boolean((part?.abilities as Provider | undefined)?.[what] ?? part?.[what]);
  const { speak, transcribe } = parts;
  return {
    id: `composite(${[speak?.id, transcribe?.id].filter(Boolean).join(', ')})`,
    providerName: 'composite',
    abilities: {
      speak: able(speak, 'speak'),
      speakStream: able(speak, 'speakStream'),
      transcribe: able(transcribe, 'transcribe'),
      listVoices: able(speak, 'listVoices'),
    },
    defaultModels: {
      ...(speak?.defaultModels as Provider | undefined),
      ...(transcribe?.defaultModels as Provider | undefined),
    },
    speak: speak?.speak,
    speakStream: speak?.speakStream,
    transcribe: transcribe?.transcribe,
    listVoices: speak?.listVoices,
  };
}
