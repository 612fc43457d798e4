/** Where the dashboard is, without a slash at the end: its script is loaded from there. */
export const root: string = new URL(".", import.meta.url).href.slice(0, -1);
