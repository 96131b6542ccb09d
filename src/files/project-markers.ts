import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** A folder with one of these is a project: Spool's own folder, or one in which other tools keep changes. */
const markers = ['.spool', 'openspec/changes', '.ito/changes', '.specify', '.kiro/specs'];

/** What makes a folder a project, as a path; null if it is none. */
export const projectMarker = (folder: string): string | null =>
  markers.map((name) => join(folder, name)).find((path) => existsSync(path)) ?? null;
