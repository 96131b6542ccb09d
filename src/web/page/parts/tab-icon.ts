import { useEffect } from 'preact/hooks';
import type { Tone } from './status.tsx';

const colors: Record<Tone, string> = {
  ok: '#2da44e',
  bad: '#e5534b',
  warn: '#d29922',
  live: '#3b82f6',
  quiet: '#8b949e',
};

/** The title and the icon of the browser tab show the state. */
export const useTabState = (title: string, tone: Tone): void => {
  useEffect(() => {
    document.title = title;
  }, [title]);
  useEffect(() => {
    const shape =
      tone === 'live'
        ? `<circle cx="16" cy="16" r="11" fill="none" stroke="${colors.live}" stroke-width="6"/>`
        : `<circle cx="16" cy="16" r="13" fill="${colors[tone]}"/>`;
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${shape}</svg>`;
    const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
    if (link) link.href = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  }, [tone]);
};
