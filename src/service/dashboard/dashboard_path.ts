/** Where the dashboard is. */
export const dashboardPath = "/__service/ui";
