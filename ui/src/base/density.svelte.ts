// How much room the rows of lists take: as they were drawn, or less of it. What is no density says nothing.
import { recall } from './remember';

export const DENSITIES = ['comfortable', 'compact'] as const;
export type Density = (typeof DENSITIES)[number];

const kept = (): Density => {
  const found = recall<unknown>('density', 'comfortable');
  return DENSITIES.find((one) => one === found) ?? 'comfortable';
};

class Rows {
  density: Density = $state(kept());

  /** How high a row is, in pixels; the least is what a finger and an eye still find. */
  height(comfortable: number): number {
    return this.density === 'compact' ? Math.max(24, comfortable - 6) : comfortable;
  }

  /** Reads again what is kept. */
  reload(): void {
    this.density = kept();
  }
}

/** A window has one density. */
export const rows = new Rows();
