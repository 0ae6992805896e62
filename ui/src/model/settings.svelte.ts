// The settings of the open folder, and the text that a person is making of them. Nothing is written before the edit was
// shown, and nothing where the file has become another one meanwhile: then the edit is made of that again.
import { settingsIn, withSetting } from '../base/settings-text';
import { valueAt, type Step } from '../base/path';
import { asFault, type Fault, type Host, type SettingsPlan, type SettingsView } from '../host/host';

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
  /** Whether the file can be edited here: it is JSON, or is not there. */
  readonly canEdit = $derived(this.view !== null && settingsIn(this.view.text) !== null);

  async load(): Promise<void> {
    try {
      this.view = await this.host.settings();
      this.fault = null;
    } catch (thrown) {
      this.fault = asFault(thrown);
    }
  }

  /** What the file says at a place, with the edits. */
  at(...path: Step[]): unknown {
    return valueAt(this.#values, path);
  }

  /** Sets a place; `undefined` takes it away. A place that is set again is one edit. */
  set(path: readonly Step[], value: unknown): void {
    const name = JSON.stringify(path);
    const others = this.edits.filter((edit) => JSON.stringify(edit.path) !== name);
    const before = valueAt(settingsIn(this.view?.text ?? '') ?? {}, path);
    const isSame = JSON.stringify(before) === JSON.stringify(value);
    this.edits = isSame ? others : [...others, { path, value }];
  }

  discard(): void {
    this.edits = [];
  }

  /** What would change of the file as it is now. */
  async plan(): Promise<SettingsPlan> {
    await this.load();
    return this.host.planSettings(this.text);
  }

  /** Writes what was shown, where the file is still the one that it was compared with. */
  async write(plan: SettingsPlan): Promise<void> {
    this.view = await this.host.writeSettings(this.text, plan.stamp ?? null);
    this.edits = [];
  }
}
