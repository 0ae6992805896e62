// What can be done with the selected block: the menu of the right button on its row. What a request can do as a whole is
// there too, where it acts at the block.
import type { AppModel } from '../../model/app.svelte';
import { copyLink } from '../../model/actions';
import { SHEETS } from '../../model/sheets';

type Act = { id: string; label: string; icon: string; run: () => void };

const LABELS: Record<string, string> = {
  fork: 'Fork here…',
  try: 'Try with changes…',
  resume: 'Resume, or answer…',
  retry: 'Try again from the beginning…',
  replay: 'Replay with the current code…',
  keep: 'Keep as a test…',
};

export function rowActs(app: AppModel): Act[] {
  const { selected, request } = app;
  const row = selected ? request.rows.find(selected) : undefined;
  const acts: Act[] = SHEETS.filter((one) => LABELS[one.id] && one.when(app)).map((one) => ({
    id: one.id,
    label: one.id === 'try' && row?.kind === 'generator' ? 'Try another model…' : (LABELS[one.id] ?? ''),
    icon: one.icon,
    run: () => one.run(app),
  }));
  if (row?.path) {
    const { path, seqStart, seqEnd } = row;
    acts.push({
      id: 'start',
      label: 'State when it started',
      icon: 'first',
      run: () => app.route.go({ seq: seqStart }),
    });
    if (seqEnd)
      acts.push({
        id: 'end',
        label: 'State when it ended',
        icon: 'last',
        run: () => selected && app.select(selected),
      });
    const copy = () => void app.try(() => navigator.clipboard.writeText(path));
    acts.push({ id: 'path', label: 'Copy its path', icon: 'copy', run: copy });
  }
  if (!app.host.isCopy)
    acts.push({ id: 'link', label: 'Copy a link to it', icon: 'copy', run: () => void copyLink(app) });
  return acts;
}
