import type { Scenario } from '../../ralph/proof.ts';
import type { Change } from '../source.ts';

export const scenariosOf = (_change: Change, _root: string): Scenario[] => [];
