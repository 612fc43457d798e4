export const dashboardPath = "/__service/ui";
