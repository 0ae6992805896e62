// The sections of the page of settings: a person's own come first, the others are of the open folder.
export const SECTIONS = [
  { id: 'look', label: 'Appearance and keys', isOwn: true },
  { id: 'models', label: 'Models and prices', isOwn: false },
  { id: 'network', label: 'Network', isOwn: false },
  { id: 'folder', label: 'Limits and durability', isOwn: false },
  { id: 'data', label: 'Data', isOwn: false },
] as const;
export type SectionId = (typeof SECTIONS)[number]['id'];
