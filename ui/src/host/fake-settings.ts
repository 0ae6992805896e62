// Settings of the recorded host, kept in memory.
import { settingsIn } from '../base/settings-text';
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
      ...(settingsIn(this.text) ? {} : { problem: 'flowglass.json: key must be a string at line 1 column 3' }),
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
  /** As another program does. */
  rewrite(text: string) {
    this.text = text;
    this.#round++;
  }
  async planSettings(text: string) {
    const { fetch, prices } = JSON.parse(text) as { fetch?: { allow: string[] }; prices?: Record<string, object> };
    const host = fetch?.allow.find((host) => /[\s/]/.test(host));
    if (host) throw { kind: 'invalid', message: `flowglass.json: "${host}" is not a host`, details: [] };
    const half = Object.entries(prices ?? {}).find(([, price]) => !('input' in price && 'output' in price));
    if (half) throw { kind: 'invalid', message: `flowglass.json: prices.${half[0]}: missing field`, details: [] };
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
  async clearCache() {}
  async ownSettings() {
    return { file: '/home/ada/.config/flowglass/settings.json', settings: structuredClone(this.#own) };
  }
  async changeOwnSettings(changes: OwnChange[]) {
    for (const { field, value } of changes) this.#own[field] = value;
    return this.ownSettings();
  }
  async openWindow() {}
  /** What the window showed last, as it was kept. */
  keptWindow: string | null = null;
  async keepWindow(address: string) {
    this.keptWindow = address;
  }
}
