import { Problem } from "../../problem/problem.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import { type CreditsLedger, parseAmount, type Reservation } from "./credits_ledger.ts";

/** The cost of a procedure, and the account that pays it. */
export interface ChargeOptions<Context, Input> {
  /** Number of credits, or a function that returns the number for one call. */
  readonly amount: number | ((context: Context, input: Input) => MaybePromise<number>);
  /** Returns the name of the account that pays. Default: the id of the user. */
  readonly account?: ((context: Context, input: Input) => MaybePromise<string>) | undefined;
  /** The reason to show in the account's history. */
  readonly reason?: string | undefined;
  /** How long the handler may take, in milliseconds. Default: 600,000. */
  readonly expiresInMs?: number | undefined;
}

/** The part of a procedure's context that {@link charged} needs. */
export interface CallContext {
  /** The user who calls, or null for an anonymous caller. */
  readonly user: { readonly id: string } | null;
  /** Registers work to run when the call ends. Absent if the call ends when the handler returns. */
  readonly onEnd?: (work: (isAnswered: boolean) => Promise<void>) => void;
}

/**
 * Wraps a procedure handler so that each call costs credits. The credits are reserved before the
 * handler runs, and charged when the response is sent. If the handler throws or its output is
 * invalid, the credits return to the account. If the process ends, they return after a timeout. A
 * call without enough credits fails with 402 `insufficient-credits`, and the handler does not run.
 *
 * @example
 * ```ts
 * import { charged, openCreditsLedger } from "@svc/resource-api/billing";
 *
 * const credits = await openCreditsLedger({ kv: ":memory:" });
 * await credits.grant("ada", 5);
 * // procedure({ input, output, handler: charged(credits, { amount: 3 }, render) })
 * const render = charged(credits, { amount: 3 }, (_context, text: string) => text.toUpperCase());
 * console.log(await render({ user: { id: "ada" } }, "tea"), await credits.balance("ada")); // TEA 2
 * await credits.close();
 * ```
 */
export function charged<Context extends CallContext, Input, Output>(
  credits: CreditsLedger,
  options: ChargeOptions<Context, Input>,
  handler: (context: Context, input: Input) => MaybePromise<Output>,
): (context: Context, input: Input) => Promise<Output> {
  return async function chargedHandler(context, input) {
    const { reason, expiresInMs } = options;
    const account = await accountOf(options, context, input);
    const amount = parseAmount(
      typeof options.amount === "number" ? options.amount : await options.amount(context, input),
    );
    const { reservation, balance } = await credits.reserve(account, amount, {
      reason,
      expiresInMs,
    });
    if (reservation === null) {
      throw new Problem(
        "insufficient-credits",
        `This costs ${amount} credits, and the account has ${balance}`,
        { details: { cost: amount, balance } },
      );
    }
    const end = async (isAnswered: boolean) => {
      if (isAnswered) return await keep(credits, reservation, { account, amount, reason });
      // If the store fails here, the credits return when the reservation expires.
      await credits.release(reservation).catch(() => undefined);
    };
    let output: Output;
    try {
      output = await handler(context, input);
    } catch (error) {
      await end(false);
      throw error;
    }
    // The output can still be invalid. Therefore the charge waits for the end of the call.
    if (context.onEnd === undefined) await end(true);
    else context.onEnd(end);
    return output;
  };
}

async function keep(
  credits: CreditsLedger,
  reservation: Reservation,
  { account, amount, reason }: {
    readonly account: string;
    readonly amount: number;
    readonly reason: string | undefined;
  },
): Promise<void> {
  const { ok } = await credits.commit(reservation);
  if (ok) return;
  // The reservation has expired while the handler ran, so the credits are charged without it.
  const key = `outlived:${reservation.id}`;
  await credits.consume(account, amount, { reason, key, allowNegative: true });
}

async function accountOf<Context extends CallContext, Input>(
  { account }: ChargeOptions<Context, Input>,
  context: Context,
  input: Input,
): Promise<string> {
  if (account !== undefined) return await account(context, input);
  if (context.user !== null) return context.user.id;
  throw new Problem("unauthorized", "This costs credits: sign in first");
}
