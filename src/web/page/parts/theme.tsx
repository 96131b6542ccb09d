import { useState } from 'preact/hooks';
import { MoonIcon, SunIcon, SystemIcon } from './icons.tsx';

const themes = ['system', 'light', 'dark'] as const;
type Theme = (typeof themes)[number];

const key = 'spool-theme';

export const savedTheme = (): Theme => themes.find((theme) => theme === readSaved()) ?? 'system';

/** Storage may be forbidden. */
const readSaved = (): string | null => {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
};

const save = (theme: Theme): void => {
  try {
    localStorage.setItem(key, theme);
  } catch {
    // It then applies until the page is loaded again.
  }
};

/** Tells charts, whose colors are not those of CSS. */
export const themeChanged = 'spool-theme-changed';

export const applyTheme = (theme: Theme): void => {
  document.documentElement.dataset['theme'] = theme;
  dispatchEvent(new Event(themeChanged));
};

const icons = { system: SystemIcon, light: SunIcon, dark: MoonIcon };

/** Switches between the theme of the system, a light and a dark one. */
export const ThemeSwitch = () => {
  const [theme, setTheme] = useState(savedTheme);
  const next = themes[(themes.indexOf(theme) + 1) % themes.length]!;
  const Icon = icons[theme];
  const change = () => {
    save(next);
    applyTheme(next);
    setTheme(next);
  };
  return (
    <button
      type="button"
      class="icon-button"
      onClick={change}
      title={`Theme: ${theme}`}
      aria-label={`Theme: ${theme}. Change to ${next}`}
    >
      <Icon />
    </button>
  );
};
