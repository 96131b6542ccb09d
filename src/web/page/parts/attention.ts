import type { Attention } from '../../api.ts';
import type { Tone } from './status.tsx';

const tones: Record<Attention['kind'], Tone> = {
  blocked: 'bad',
  failed: 'bad',
  unreadable: 'bad',
  problem: 'bad',
  silent: 'bad',
  rejected: 'warn',
  limit: 'warn',
  interrupted: 'warn',
};

export const attentionTone = ({ kind }: Attention): Tone => tones[kind] ?? 'warn';
