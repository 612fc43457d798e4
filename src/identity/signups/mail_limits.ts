import { type HourlyCounters, networkOfAddress } from "../accounts/login_limiter.ts";

/** How many mails of one kind an address receives in an hour, so that it is not flooded. */
export const maxMailsAnHour = 5;

/** Maximum number of mails an hour if each is its source's first mail (see {@link countMail}). */
export const maxFirstMailsAnHour = 20;

/** Counts a mail. Returns true if its source may send it. First mails have a higher limit. */
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
  // If this mail is not sent, it does not count against other sources.
  return sent < limit && await counters.add(kind, email) <= limit;
}
