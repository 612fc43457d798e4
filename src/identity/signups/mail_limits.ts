import type { HourlyCounters } from "../accounts/hourly_counters.ts";
import { networkOf } from "../accounts/login_risk.ts";

/** The hourly maximum of mails of one kind to one address. It prevents filling a mailbox. */
export const maxMailsAnHour = 5;

/** The hourly maximum of mails to an address when the source has not caused a mail before. */
export const maxSourcesAnHour = 20;

/**
 * Returns true if a mail of a kind may be sent to an address for this source, and counts it. A
 * source is the network of the client. Beyond the limit of all sources, each source still has its
 * first mail.
 */
export async function mayMail(
  counters: HourlyCounters,
  kind: "signup-mail" | "reset-mail",
  { email, source }: { readonly email: string; readonly source: string },
): Promise<boolean> {
  const ofSource = await counters.add(`${kind} of a source`, `${networkOf(source)} ${email}`);
  const limit = ofSource === 1 ? maxSourcesAnHour : maxMailsAnHour;
  const [sent = 0] = await counters.read(kind, [email]);
  // A mail that is not sent counts only for its source.
  return sent < limit && await counters.add(kind, email) <= limit;
}
