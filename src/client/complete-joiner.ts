import { errorFrom } from "../contract/errors.ts";
import type { CompletedItem } from "../contract/replies.ts";
import type { CompleteRequest } from "../contract/worker-protocol.ts";
import type { PublicState } from "../kernel/state.ts";
import { bodyWith } from "./bodies.ts";
import { pathOf } from "./executions.ts";
import { Joiner, type Settled } from "./joiner.ts";
import type { Transport } from "./transport.ts";

type Completed = { publicState: PublicState };

interface Item {
	id: string;
	text: string;
}

const MAX_ITEMS = 500;
const MAX_BYTES = 4 * 1024 * 1024;
/** What looks otherwise is refused on its own route, where the refusal names the id as it does in process. */
const ID = /^ex_[0-9a-f]{32}_\d{1,5}$/;

/** Results that come together travel together. */
export class CompleteJoiner {
	readonly #transport: Transport;
	readonly #joiner: Joiner<Item, Completed>;

	constructor(transport: Transport) {
		this.#transport = transport;
		this.#joiner = new Joiner({
			maxItems: MAX_ITEMS,
			maxBytes: MAX_BYTES,
			sizeOf: ({ text }) => text.length,
			one: (item) => this.#one(item),
			many: (items) => this.#many(items),
		});
	}

	async complete(id: string, request: CompleteRequest): Promise<Completed> {
		const item = { id, text: bodyWith("result", request) };
		const mayJoin = ID.test(id) && item.text.startsWith("{") && item.text.length <= MAX_BYTES;
		return mayJoin ? this.#joiner.add(item) : this.#one(item);
	}

	#one({ id, text }: Item): Promise<Completed> {
		return this.#transport.json({ method: "POST", path: pathOf(id, "/complete"), body: text, repeat: "always" });
	}

	async #many(items: Item[]): Promise<Settled<Completed>[]> {
		const texts = items.map(({ id, text }) =>
			text === "{}" ? `{"executionId":"${id}"}` : `{"executionId":"${id}",${text.slice(1)}`,
		);
		const answer = await this.#transport.json<{ items: CompletedItem[] }>({
			method: "POST",
			path: "/v1/leases/complete",
			body: `{"items":[${texts.join(",")}]}`,
			repeat: "always",
		});
		return answer.items.map(settled);
	}
}

function settled({ ok, publicState, error }: CompletedItem): Settled<Completed> {
	if (ok && publicState !== undefined) return { answer: { publicState } };
	return { error: errorFrom(error ?? { code: "internal", message: "no answer for this item", retryable: false }) };
}
