import { render } from 'preact';
import { App } from './app.tsx';
import { applyTheme, savedTheme } from './parts/theme.tsx';

applyTheme(savedTheme());
const app = document.querySelector('#app')!;
// What is shown before the script runs.
app.replaceChildren();
render(<App />, app);
