import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { launchOptions } from '../../scripts/chromium.mjs';

/** A browser, or why there is none. Start it once per file: it takes a quarter of a second. */
export const startBrowser = async (): Promise<Browser | string> => {
  try {
    return await chromium.launch(launchOptions());
  } catch (error) {
    return error instanceof Error ? error.message.split('\n')[0]! : String(error);
  }
};

export interface OpenedPage {
  readonly page: Page;
  /** Exceptions, messages of the console, dialogs, and violations of the policy. Empty if all is well. */
  readonly problems: readonly string[];
}

/** Opens a page in a new context, closed after the test. */
export const openPage = async (
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<OpenedPage> => {
  const context = await browser.newContext({ locale: 'en-GB', viewport: { width: 1280, height: 800 }, ...options });
  onTestFinished(() => context.close());
  const problems: string[] = [];
  const page = await context.newPage();
  page.on('pageerror', (error) => problems.push(`exception: ${error.stack ?? error.message}`));
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    // A server that is gone, and a change that has no run yet, are lines in the console of every browser.
    const isExpected = message.text().includes('net::ERR_') || message.location().url.endsWith('/runs/latest');
    if (message.type() === 'error' && !isExpected)
      problems.push(`console: ${message.text()} ${message.location().url}`);
  });
  await page.goto(url);
  return { page, problems };
};
