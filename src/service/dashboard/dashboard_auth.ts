import { Problem } from "../../problem/problem.ts";
import { isFromOwnPage } from "../../protocol/own_page.ts";
import { requirePageAccess } from "../own_machine.ts";
import type { PageRequest } from "../service_pages.ts";
import type { ResolvedDashboard } from "./dashboard_options.ts";

export interface OperatorRequest extends PageRequest {
  /** True for the HTML page. Links on other sites may lead to it, because it has no effects. */
  readonly isPage: boolean;
}

/** Requires the operator, and refuses requests of pages of other sites. Throws a 401 or a 403. */
export async function requireOperator(
  request: OperatorRequest,
  { authorize }: Pick<ResolvedDashboard, "authorize">,
): Promise<void> {
  const { raw, isPage } = request;
  // Programs without the headers of browsers are accepted: they send credentials on purpose.
  if (!isPage && isFromOwnPage(raw, noOrigins) === false) {
    throw new Problem("forbidden", "Cannot use the dashboard from a page of another origin");
  }
  return await requirePageAccess(request, {
    authorize,
    option: "adminUI.authorize",
    cannot: "Cannot use the dashboard",
    // A browser then asks its user for credentials, and sends them with later requests.
    headers: { "www-authenticate": 'Basic realm="dashboard", charset="UTF-8"' },
  });
}

const noOrigins: ReadonlySet<string> = new Set();
