/** Path of the dashboard. */
export const dashboardPath = "/__service/ui";
