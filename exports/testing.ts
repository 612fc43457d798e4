/**
 * Tests of the rights of an app.
 *
 * @module
 */
export { checkRights } from "../src/app/check_rights.ts";
export type { CheckedRow, RightsTable } from "../src/app/check_rights.ts";
