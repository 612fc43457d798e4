import type { HourlyCounters } from "../accounts/hourly_counters.ts";
import { networkOf } from "../accounts/login_risk.ts";

/**
 * The maximum number of mails of one kind to an address in an hour, so that no mailbox is filled.
 */
export const maxMailsAnHour = 5;

/** The maximum number of first mails of each source in an hour, to save a user's mails. */
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
