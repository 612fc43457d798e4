import type { HourlyCounters } from "../accounts/hourly_counters.ts";
import { networkOfAddress } from "../accounts/login_risk.ts";

/** The hourly maximum of mails of one kind to one address, to prevent flooding a mailbox. */
export const maxMailsAnHour = 5;

/** The hourly maximum of mails to one address for a source ({@link countMail}) without mails. */
export const maxFirstMailsAnHour = 20;

/**
 * Counts a mail of a kind to an address, and returns true if it may be sent for this source. A
 * source is the network of a client. The limit is higher for the first mail of each source.
 */
export async function countMail(
  counters: HourlyCounters,
  kind: "signup-mail" | "reset-mail",
  { email, source }: { readonly email: string; readonly source: string },
): Promise<boolean> {
  const ofSource = await counters.add(
    `${kind} of a source`,
    `${networkOfAddress(source)} ${email}`,
  );
  const limit = ofSource === 1 ? maxFirstMailsAnHour : maxMailsAnHour;
  const [sent = 0] = await counters.read(kind, [email]);
  // A mail that is not sent does not count for other sources.
  return sent < limit && await counters.add(kind, email) <= limit;
}
