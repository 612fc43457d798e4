/** The files of the dashboard: gzip in base64, by their paths. */
export const bundledDashboard: Readonly<Record<string, string>> = {};
