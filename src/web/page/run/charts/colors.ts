import type { Colors } from '../../../../charts/svg.ts';

const variables: Record<keyof Colors, string> = {
  background: '--surface',
  text: '--text',
  line: '--line',
  'chart-1': '--chart-1',
  'chart-2': '--chart-2',
  'chart-3': '--chart-3',
};

/** The colors of the theme, as a canvas needs them. */
export const themeColors = (): Colors => {
  const probe = document.createElement('span');
  document.body.append(probe);
  const found = Object.entries(variables).map(([name, variable]) => {
    probe.style.color = `var(${variable})`;
    return [name, getComputedStyle(probe).color];
  });
  probe.remove();
  return Object.fromEntries(found) as unknown as Colors;
};
