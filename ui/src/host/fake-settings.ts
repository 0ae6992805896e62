// Settings of the recorded host, kept in memory.
import type { SettingsHost } from './settings';
import type { OwnChange, SettingsView } from './host';

export class FakeSettings implements Omit<SettingsHost, 'stats' | 'checkData' | 'compact'> {
  text = '{\n  "prices": {\n    "gpt-5-mini": {\n      "input": 0.25,\n      "output": 2\n    }\n  }\n}\n';
  #round = 1;
  #own: Record<string, unknown> = {};

  async settings(): Promise<SettingsView> {
    return {
      file: '/home/ada/flows/flowglass.json',
      text: this.text,
      stamp: `stamp ${this.#round}`,
      isInForce: this.#round === 1,
      models: [
        {
          name: 'gpt-5-mini',
          isConfigured: false,
          isCalled: true,
          provider: 'openai',
          variable: 'OPENAI_API_KEY',
          hasKey: false,
          problem: 'set the environment variable OPENAI_API_KEY to its key',
          price: [0.25, 0.25, 2],
        },
      ],
      limits: [
        { name: 'memoryMb', value: 256, isDefault: true },
        { name: 'depth', value: 1000, isDefault: true },
      ],
      env: [{ name: 'TOKEN', variable: 'MY_TOKEN', isMissing: true }],
      durability: 'process',
      data: {
        file: '/home/ada/flows/.flowglass/flowglass.db',
        bytes: 5_000_000,
        cacheBytes: 100_000,
        backups: [{ name: 'flowglass.db.format-10', bytes: 4_000_000 }],
      },
      sendsKeys: false,
    };
  }
  async planSettings(text: string) {
    return { difference: `@@ line 1 @@\n- ${this.text}\n+ ${text}`, stamp: `stamp ${this.#round}` };
  }
  async writeSettings(text: string, stamp: string | null) {
    if (stamp !== `stamp ${this.#round}`) throw { kind: 'refused', message: 'flowglass.json was changed' };
    this.text = text;
    this.#round++;
    return this.settings();
  }
  async testModel() {
    return { ms: 12, error: 'set the environment variable OPENAI_API_KEY to its key' };
  }
  async deleteBackup() {}
  async ownSettings() {
    return { file: '/home/ada/.config/flowglass/settings.json', settings: structuredClone(this.#own) };
  }
  async changeOwnSettings(changes: OwnChange[]) {
    for (const { field, value } of changes) this.#own[field] = value;
    return this.ownSettings();
  }
  async openWindow() {}
}
