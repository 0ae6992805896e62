// `VoiceProvider`: an object of the author's that speaks or listens. The engine asks none itself; a handler may.

type Method = (...args: never[]) => unknown;
type Ability = 'speak' | 'speakStream' | 'transcribe' | 'listVoices';

interface VoiceProvider extends Partial<Record<Ability, Method>> {
  id: string;
  providerName: string;
  abilities: Record<Ability, boolean>;
}

const ABILITIES: readonly Ability[] = ['speak', 'speakStream', 'transcribe', 'listVoices'];

const can =
  (ability: Ability) =>
  (provider: VoiceProvider): boolean =>
    provider?.abilities?.[ability] === true;

export const canSpeak = can('speak');
export const canSpeakStream = can('speakStream');
export const canTranscribe = can('transcribe');
export const canListVoices = can('listVoices');

/** What a model is told of the voice that a person speaks by. Requests come without one here. */
export const voiceContext = (_ctx?: unknown): undefined => undefined;

const RETRYABLE = ['rate_limit', 'provider_unavailable', 'network'];

interface VoiceErrorOptions {
  kind: string;
  provider: string;
  message: string;
  retryable?: boolean;
  status?: number;
  cause?: unknown;
}

export class VoiceError extends Error {
  override name = 'VoiceError';
  readonly kind: string;
  readonly provider: string;
  readonly retryable: boolean;
  readonly status?: number;

  constructor({ kind, provider, message, retryable, status, cause }: VoiceErrorOptions) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.provider = provider;
    this.retryable = retryable ?? RETRYABLE.includes(kind);
    this.status = status;
  }
}

/** One provider of several: each ability is that of the one in its place. */
export function createCompositeVoiceProvider(slots: Partial<Record<Ability, VoiceProvider>>): VoiceProvider {
  const behind = { ...slots, speakStream: slots.speakStream ?? slots.speak };
  const ids = ABILITIES.map((ability) => `${ability}=${slots[ability]?.id ?? '-'}`);
  const abilities = Object.fromEntries(
    ABILITIES.map((ability) => [ability, behind[ability]?.abilities[ability] === true]),
  ) as Record<Ability, boolean>;
  const composite: VoiceProvider = { id: `composite:${ids.join('|')}`, providerName: 'composite', abilities };
  const isEmpty = Object.values(slots).every((slot) => slot === undefined);
  for (const ability of ABILITIES) {
    const provider = behind[ability];
    if (provider && abilities[ability]) {
      composite[ability] = (...args) => (provider[ability] as Method).apply(provider, args);
    } else if (isEmpty) {
      composite[ability] = () => {
        const message = `no provider was given for "${ability}"`;
        throw new VoiceError({ kind: 'invalid_input', provider: 'composite', message });
      };
    }
  }
  return composite;
}
