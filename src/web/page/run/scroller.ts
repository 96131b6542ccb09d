/** What scrolls an element: itself on wide screens, the page on narrow ones. */
export const scrollerOf = (element: HTMLElement): Element =>
  getComputedStyle(element).overflowY === 'auto' ? element : (document.scrollingElement ?? document.documentElement);

const slackPx = 48;

export const isAtEnd = (scroller: Element): boolean =>
  scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < slackPx;

export const scrollToEnd = (scroller: Element): void => {
  scroller.scrollTop = scroller.scrollHeight;
};
