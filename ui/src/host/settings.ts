// What the window asks the host about settings: those of the folder, and a person's own; about the database as a file;
// and for another window.
import type {
  CompactedRow,
  DataCheck,
  ModelTest,
  OwnChange,
  OwnSettingsView,
  SettingsPlan,
  SettingsView,
  Stats,
} from './bindings';

export interface SettingsHost {
  settings(): Promise<SettingsView>;
  /** What another text in `flowglass.json` would change. Writes nothing. */
  planSettings(text: string): Promise<SettingsPlan>;
  /** Refused where the file is no longer the one that the stamp names; null is no file. */
  writeSettings(text: string, stamp: string | null): Promise<SettingsView>;
  /** Asks a model for a word, which may cost. */
  testModel(model: string): Promise<ModelTest>;
  /** Deletes a copy of the database in an older format. */
  deleteBackup(name: string): Promise<void>;
  /** Deletes what is made again when it is missing. */
  clearCache(): Promise<void>;
  stats(): Promise<Stats>;
  checkData(): Promise<DataCheck>;
  compact(): Promise<CompactedRow>;
  ownSettings(): Promise<OwnSettingsView>;
  /** Fields that are not named stay as they are. */
  changeOwnSettings(changes: OwnChange[]): Promise<OwnSettingsView>;
  /** Opens another window at a place, by the flags of `open`. */
  openWindow(flags: string[]): Promise<void>;
  /** Keeps what this window shows, for the next start after a quit or a crash. */
  keepWindow(address: string): Promise<void>;
}
