// Names that need a host of another kind. Each says what takes its place here, when it is called.

import { NoRequestHostError } from '../base/errors';

type Wrong = new (message: string) => Error;

function absent(name: string, instead: string, Wrong: Wrong = Error): (...args: unknown[]) => never {
  const refuse = (): never => {
    throw new Wrong(`${name} has no meaning here: ${instead}`);
  };
  return Object.defineProperty(refuse, 'name', { value: name });
}

const MODELS =
  'the engine asks models itself; name one in flowglass.json, or give an object with a modelId and a generate function';
const VOICE = 'the engine neither speaks nor listens; ask a service with fetch';

export const createAiSdkModelResolver = absent('createAiSdkModelResolver', MODELS);
export const wrapAiSdkModel = absent('wrapAiSdkModel', MODELS);
export const createAiSdkSpeechResolver = absent('createAiSdkSpeechResolver', VOICE);
export const wrapAiSdkSpeechModel = absent('wrapAiSdkSpeechModel', VOICE);
export const createAiSdkTranscriptionResolver = absent('createAiSdkTranscriptionResolver', VOICE);
export const wrapAiSdkTranscriptionModel = absent('wrapAiSdkTranscriptionModel', VOICE);
export const getRequestWorkPool = absent(
  'getRequestWorkPool',
  'work beside a chain is started with .work() and waited for with .waitForWork()',
);
export const runRescue = absent('runRescue', 'the engine runs the handlers of rescue; give them to a block');
export const resolveActiveStatusMessage = absent(
  'resolveActiveStatusMessage',
  'the engine shows activeStatusMessage when a block starts; ctx.emit.status shows another',
);

const ENTRIES = 'defineFlow checks the entries of a flow where it is defined';

export const validateConcurrencyConfig = absent('validateConcurrencyConfig', ENTRIES);
export const validateWebhookConfig = absent('validateWebhookConfig', ENTRIES);
export const validateChatConfig = absent('validateChatConfig', ENTRIES);
export const validateScheduleConfig = absent('validateScheduleConfig', ENTRIES);
export const validateSchedulesConfig = absent('validateSchedulesConfig', ENTRIES);

export const buildReplayLog = absent('buildReplayLog', 'a resume reads the log of the engine by itself');
const ELSEWHERE = 'dispatcher() starts work in another session';

export const requireRequestHost = absent('requireRequestHost', ELSEWHERE, NoRequestHostError);
export const recordedAskOutcome = absent(
  'recordedAskOutcome',
  'a question that was answered is not asked again; parkOnAsk gives the answer',
);
export const createBindingCache = absent('createBindingCache', 'no channel of a host is bound to a flow');
export const applyGetOrPatchState = absent('applyGetOrPatchState', 'a resource has it: ref.getOrPatchState(key, make)');
