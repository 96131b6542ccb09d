import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { startBrowser } from './browser.ts';

let browser: Browser | string = 'it was not started';

/** Tests in a browser. Where there is none, the report says what is left out. */
export const describePage = (name: string, define: (getBrowser: () => Browser) => void): void => {
  describe(name, () => {
    beforeAll(async () => {
      browser = await startBrowser();
    });
    afterAll(async () => {
      if (typeof browser !== 'string') await browser.close();
    });
    define(() => browser as Browser);
  });
};

/** A test in a browser, or a line in the report that there is none. */
export const pageTest = (name: string, run: () => Promise<void>): void =>
  test(name, async ({ annotate, skip }) => {
    if (typeof browser !== 'string') return run();
    await annotate(`left out, as no browser can be started: ${browser}`);
    return skip();
  });

/** Resolves once this text is shown. */
export const see = (where: Page | Locator, text: string | RegExp): Promise<void> =>
  where.getByText(text).first().waitFor();

export const button = (where: Page | Locator, name: string | RegExp): Locator => where.getByRole('button', { name });

export const tab = (where: Page | Locator, name: string | RegExp): Locator => where.getByRole('link', { name });

// What is run in the page is text here, since the tests know the types of Node, not those of browsers.

/** Shows another view, without loading the page again. */
export const show = (page: Page, hash: string): Promise<unknown> =>
  page.evaluate(`location.hash = ${JSON.stringify(hash)}`);

/** By how many pixels the page is wider than the window. */
export const overhang = (page: Page): Promise<number> =>
  page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');

export const focusedText = (page: Page): Promise<string> => page.evaluate<string>('document.activeElement.textContent');
