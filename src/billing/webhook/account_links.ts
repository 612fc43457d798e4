import type { KeyValue } from "../../kv/key_value.ts";
import type { BillingProvider } from "../providers/billing_provider.ts";
import { billingKeys } from "./billing_keys.ts";

/** Remembers which customer pays for which account. Renewals may name only the customer. */
export class AccountLinks {
  readonly #provider: string;
  readonly #isShared: boolean;
  readonly #store: KeyValue;

  constructor(
    { name, findsCustomerByEmail = false }: Pick<BillingProvider, "name" | "findsCustomerByEmail">,
    store: KeyValue,
  ) {
    this.#provider = name;
    this.#isShared = findsCustomerByEmail;
    this.#store = store;
  }

  async accountOf(customerId: string): Promise<string | undefined> {
    return textOf(await this.#store.get(billingKeys.accountOf(this.#provider, customerId)));
  }

  async customerOf(accountId: string): Promise<string | undefined> {
    const customer = textOf(
      await this.#store.get(billingKeys.customerOf(this.#provider, accountId)),
    );
    if (customer === undefined || !this.#isShared) return customer;
    // The deployer may have assigned the customer to another account.
    return await this.accountOf(customer) === accountId ? customer : undefined;
  }

  /**
   * Assigns a customer to an account, in place of the account's previous customer. Returns false if
   * the customer keeps belonging to another account: if buyers can enter any customer's address,
   * only the deployer can move a customer to another account.
   */
  async remember(accountId: string, customerId: string, isOfDeployer: boolean): Promise<boolean> {
    const keys = [
      billingKeys.accountOf(this.#provider, customerId),
      billingKeys.customerOf(this.#provider, accountId),
    ];
    for (;;) {
      const entries = await this.#store.getMany(keys);
      const [account, customer] = entries.map(textOf);
      if (account === accountId && customer === customerId) return true;
      const isOfAnother = account !== undefined && account !== accountId;
      if (this.#isShared && isOfAnother && !isOfDeployer) return false;
      const { ok } = await this.#store.commit({
        checks: entries.map(({ versionstamp }, index) => ({
          key: keys[index] ?? [],
          versionstamp,
        })),
        mutations: [accountId, customerId].map((value, index) =>
          ({ kind: "set", key: keys[index] ?? [], value }) as const
        ),
      });
      if (ok) return true;
    }
  }
}

function textOf({ value }: { readonly value: unknown }): string | undefined {
  return typeof value === "string" ? value : undefined;
}
