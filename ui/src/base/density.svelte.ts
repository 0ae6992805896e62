// The density of lists: comfortable or compact. An invalid stored value is ignored.
import { recall } from './remember';

export const DENSITIES = ['comfortable', 'compact'] as const;
export type Density = (typeof DENSITIES)[number];

const kept = (): Density => {
  const found = recall<unknown>('density', 'comfortable');
  return DENSITIES.find((one) => one === found) ?? 'comfortable';
};

class Rows {
  density: Density = $state(kept());

  /** The height of a row in pixels, never too small to read and to hit. */
  height(comfortable: number): number {
    return this.density === 'compact' ? Math.max(24, comfortable - 6) : comfortable;
  }

  /** Reads the stored density again. */
  reload(): void {
    this.density = kept();
  }
}

/** A window has one density. */
export const rows = new Rows();
