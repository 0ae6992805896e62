// The theme and the text size of this window, as controls show them. Colouring the page and scaling it happen elsewhere.
import { recall } from './remember';
import { chosenTheme, type Theme } from './theme';

/** Sizes of the text, in percent. */
export const TEXT_SIZES = [80, 90, 100, 110, 125, 150, 175, 200] as const;

const keptSize = (): number => {
  const kept = recall<unknown>('zoom', 100);
  return TEXT_SIZES.find((one) => one === kept) ?? 100;
};

class Looks {
  theme: Theme = $state(chosenTheme());
  textSize: number = $state(keptSize());

  /** Reads again what is kept. */
  reload(): void {
    this.theme = chosenTheme();
    this.textSize = keptSize();
  }
}

/** A window has one theme and one text size. */
export const looks = new Looks();
