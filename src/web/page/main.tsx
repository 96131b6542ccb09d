import { render } from 'preact';
import { App } from './app.tsx';
import { applyTheme, savedTheme } from './parts/theme.tsx';

applyTheme(savedTheme());
render(<App />, document.querySelector('#app')!);
