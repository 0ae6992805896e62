// The settings of the open folder, and the text that a person is making of them. Nothing is written before the edit was
// shown, and nothing where the file has become another one meanwhile: then the edit is made of that again.
import { settingsIn, withSetting } from '../base/settings-text';
import { valueAt, type Step } from '../base/path';
import { asFault, type Fault, type Host, type SettingsPlan, type SettingsView } from '../host/host';

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

type Edit = { path: readonly Step[]; value: unknown };

export class FolderSettings {
  view: SettingsView | null = $state.raw(null);
  fault: Fault | null = $state.raw(null);
  edits: readonly Edit[] = $state.raw([]);

  constructor(readonly host: Host) {}

  /** What the file would say with the edits. */
  readonly text = $derived(
    this.edits.reduce((text, { path, value }) => withSetting(text, path, value), this.view?.text ?? ''),
  );
  readonly #values = $derived(settingsIn(this.text) ?? {});
  /** Whether the file can be edited here: it is valid, or is not there. An edit must keep the rest of the file. */
  readonly canEdit = $derived(this.view !== null && !this.view.problem && settingsIn(this.view.text) !== null);

  /** Counts what was read or written. */
  #round = 0;

  async load(): Promise<void> {
    const round = ++this.#round;
    try {
      const view = await this.host.settings();
      if (round !== this.#round) return;
      this.#show(view);
      this.fault = null;
    } catch (thrown) {
      if (round === this.#round) this.fault = asFault(thrown);
    }
  }

  /** Looks whether another program wrote the file. If so, the edits are made of what it says now. */
  async look(): Promise<void> {
    if (this.view === null) return;
    const round = this.#round;
    const view = await this.host.settings().catch(() => null);
    if (!view || round !== this.#round || this.view === null) return;
    if (view.stamp === this.view.stamp && view.isInForce === this.view.isInForce) return;
    this.#show(view);
    this.fault = null;
  }

  #show(view: SettingsView) {
    this.view = view;
    // What the file says by itself is no edit.
    const said = settingsIn(view.text);
    if (said) this.edits = this.edits.filter(({ path, value }) => !isSame(valueAt(said, path), value));
  }

  /** What the file says at a place, with the edits. */
  at(...path: Step[]): unknown {
    return valueAt(this.#values, path);
  }

  /** Sets a place; `undefined` takes it away. A place that is set again is one edit. */
  set(path: readonly Step[], value: unknown): void {
    if (!this.canEdit) return;
    const name = JSON.stringify(path);
    const others = this.edits.filter((edit) => JSON.stringify(edit.path) !== name);
    const before = valueAt(settingsIn(this.view?.text ?? '') ?? {}, path);
    this.edits = isSame(before, value) ? others : [...others, { path, value }];
  }

  discard(): void {
    this.edits = [];
  }

  /** An edit of a file that cannot be read would lose the rest of it. */
  #checkEditable(): void {
    if (this.canEdit) return;
    const fault: Fault = { kind: 'refused', message: this.view?.problem ?? 'flowglass.json is not a JSON object' };
    throw fault;
  }

  /** What would change of the file as it is now. */
  async plan(): Promise<SettingsPlan> {
    await this.load();
    if (this.fault) throw this.fault;
    this.#checkEditable();
    return this.host.planSettings(this.text);
  }

  /** Writes what was shown, where the file is still the one that it was compared with. */
  async write(plan: SettingsPlan): Promise<void> {
    this.#checkEditable();
    this.#round++;
    this.view = await this.host.writeSettings(this.text, plan.stamp ?? null);
    this.edits = [];
  }

  /** Why the file could not say this; null if it could. Whatever else is edited does not count. */
  async problemOf(path: readonly Step[], value: unknown): Promise<string | null> {
    if (!this.view || !this.canEdit) return null;
    try {
      await this.host.planSettings(withSetting(this.view.text, path, value));
      return null;
    } catch (thrown) {
      return asFault(thrown).message;
    }
  }
}
