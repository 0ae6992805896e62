// Which script a run of the recorded host plays.
import type { RunOptions } from './host';
import { fan, mixture } from './large';
import type { Beat, Recording } from './recording';
import { chat, research } from './scripts';

export function playAll(recording: Recording, beats: Beat[], from: number) {
  let at = from;
  for (const beat of beats) recording.append(beat, (at += beat.wait));
}

export function scriptOf(id: string, { flow, action, input }: RunOptions): Beat[] {
  if (flow === 'chat') return chat(id, input);
  const size = (input ?? {}) as { blocks?: number; mixed?: boolean };
  if (flow === 'stress') return size.mixed ? mixture(size.blocks ?? 10_000) : fan(id, size);
  const topic = String((input as { topic?: string })?.topic ?? 'bees');
  return research(id, { topic }, topic === 'fail' || action === 'review');
}
