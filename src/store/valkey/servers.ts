import { StoreError } from "../port.ts";
import { faultOf, isHopeless, wordsOf } from "./fault.ts";
import { addressOf, type Call, Node } from "./node.ts";
import { SLOTS } from "./slots.ts";
import type { HostAndPort, ValkeyUrl } from "./url.ts";

/** How long a call is tried before its caller is told; the caller may try on. */
const CALL_BUDGET_MS = 5000;
const PAUSE_MIN_MS = 10;
const PAUSE_MAX_MS = 250;
/** Redirections in a row after which the nodes are given time to agree. */
const REDIRECTIONS = 5;
/** A node that does not tell the slots in this time is passed over. */
const LOOK_MS = 1000;
/** A server without slots may be getting its first ones: redirections to it keep it connected for so long. */
const WANTED_MS = 60_000;

/**
 * The servers of one store: one, or the primaries of a cluster. A call names its slot and goes to the primary that has
 * it; what passes (a slot that moves, a fail-over, a server that starts) is waited for. A call may be sent twice: every
 * one of the store's is such that the second changes nothing.
 */
export class Servers {
	/** Gives a server the functions it lacks; throws when it must not have them. */
	provide: (node: Node) => Promise<void> = async () => {};
	/** Told of slots that another server may answer for from now on. */
	onTurnover: (concerns: (slot: number) => boolean) => void = () => {};
	readonly url: ValkeyUrl;
	/** Why a server did not tell who has which slot, as far as known. */
	lastError: unknown;
	readonly #nodes = new Map<string, Node>();
	/** By slot; a single server has all. */
	readonly #owners: (Node | undefined)[] = new Array(SLOTS);
	#refreshing: Promise<boolean> | undefined;
	#refreshes = 0;
	#closed = false;

	constructor(url: ValkeyUrl) {
		this.url = url;
		for (const at of url.hosts) this.#nodeAt(at);
		if (!url.cluster) this.#owners.fill(this.#nodeAt(url.hosts[0]));
	}

	/** Every primary that has slots. */
	get primaries(): Node[] {
		return [...new Set(this.#owners)].filter((node) => node !== undefined);
	}

	/** Every server known, those first that can be reached. */
	get nodes(): Node[] {
		return [...this.#nodes.values()].sort((a, b) => Number(b.isConnected) - Number(a.isConnected));
	}

	/** The server that has a slot, as far as known. */
	addressOf(slot: number): string {
		return this.#owners[slot]?.address ?? "";
	}

	async call(slot: number, call: Call, bytes = false): Promise<unknown> {
		const owner = this.#owners[slot];
		if (!owner) return this.#callAgain(slot, call, bytes, undefined);
		try {
			return await owner.send(call, bytes);
		} catch (error) {
			return this.#callAgain(slot, call, bytes, { node: owner, error });
		}
	}

	async #callAgain(slot: number, call: Call, bytes: boolean, failed: Failure | undefined): Promise<unknown> {
		const trouble: Trouble = { deadline: performance.now() + CALL_BUDGET_MS, tries: 0, redirections: 0, lost: false };
		for (let last = failed; ; ) {
			const asked = last && (await this.#recover(slot, call, last, trouble));
			const node = asked ?? (await this.#ownerOf(slot, trouble));
			const left = Math.max(0, trouble.deadline - performance.now());
			if (!node.isConnected) await node.connected(Math.min(PAUSE_MAX_MS, left));
			try {
				return await (asked ? node.sendAsked(call, bytes) : node.send(call, bytes));
			} catch (error) {
				last = { node, error };
			}
		}
	}

	/**
	 * Does what must be done before a call that failed is sent again, or throws; gives the node to ask when it is not the
	 * slot's owner.
	 */
	async #recover(slot: number, call: Call, { node, error }: Failure, trouble: Trouble): Promise<Node | undefined> {
		const fault = faultOf(error);
		if (fault.kind === "damaged") throw wrongType(call, error);
		if (fault.kind === "lost") trouble.lost = true;
		if (fault.kind === "refused") throw failure(error, trouble, false);
		if (fault.kind === "broken") throw failure(error, { lost: true }, false);
		if (isHopeless(node.lastError)) throw failure(node.lastError, trouble, false);
		if (this.#closed || performance.now() >= trouble.deadline) throw failure(error, trouble, true);
		if (fault.kind === "no_function") {
			if (trouble.provided) throw failure(error, trouble, false);
			trouble.provided = true;
			await this.#provide(node, trouble);
			return undefined;
		}
		if ((fault.kind === "moved" || fault.kind === "asked") && trouble.redirections++ < REDIRECTIONS) {
			const to = this.#nodeAt(hostAndPort(fault.address, node));
			to.wantedAt = performance.now();
			if (fault.kind === "asked") return to;
			this.#owners[slot] = to;
			this.onTurnover((other) => other === slot);
			void this.refresh();
			return undefined;
		}
		trouble.redirections = 0;
		if (fault.kind === "read_only") node.reconnect();
		await this.#settle(node, trouble);
		return undefined;
	}

	async #provide(node: Node, trouble: Trouble): Promise<void> {
		try {
			await this.provide(node);
		} catch (error) {
			if (error instanceof StoreError) throw error;
			trouble.provided = false;
			await this.#settle(node, trouble);
		}
	}

	/** Waits a little, and longer each time, while servers start, slots move or a primary is replaced. */
	async #settle(node: Node | undefined, trouble: Trouble): Promise<void> {
		const longest = Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** Math.min(trouble.tries++, 10));
		await new Promise((resolve) => setTimeout(resolve, longest * (0.5 + Math.random() / 2)));
		if (this.url.cluster) await this.refresh();
		else await node?.connected(PAUSE_MAX_MS);
	}

	async #ownerOf(slot: number, trouble: Trouble): Promise<Node> {
		for (;;) {
			const owner = this.#owners[slot];
			if (owner) return owner;
			const nobody = new Error(`no server has slot ${slot}`);
			if (this.#closed || performance.now() >= trouble.deadline) throw failure(nobody, trouble, true);
			await this.#settle(undefined, trouble);
		}
	}

	/** Asks the cluster who has which slot; false when nobody knew. */
	refresh(): Promise<boolean> {
		this.#refreshing ??= this.#refresh().finally(() => {
			this.#refreshing = undefined;
		});
		return this.#refreshing;
	}

	/**
	 * Whoever knows of every slot is believed. One that has left the cluster knows of none, and one that is cut off from the
	 * others knows what was: so each time another is asked first, and without an answer for every slot the fullest counts.
	 */
	async #refresh(): Promise<boolean> {
		const nodes = this.nodes;
		const first = this.#refreshes++ % nodes.length;
		let best: { node: Node; ranges: SlotRange[]; slots: number } | undefined;
		for (const node of [...nodes.slice(first), ...nodes.slice(0, first)]) {
			try {
				const ranges = (await within(LOOK_MS, node.send(["CLUSTER", "SLOTS"]))) as SlotRange[];
				const slots = ranges.reduce((sum, [from, to]) => sum + to - from + 1, 0);
				if (slots > (best?.slots ?? 0)) best = { node, ranges, slots };
				if (slots === SLOTS) break;
			} catch (error) {
				// The next one may know.
				this.lastError = error;
			}
		}
		if (!best || this.#closed) return false;
		this.#learn(best.node, best.ranges);
		return true;
	}

	#learn(teller: Node, ranges: readonly SlotRange[]): void {
		const known = new Set<string>(this.url.hosts.map(addressOf));
		const owners: (Node | undefined)[] = new Array(SLOTS);
		for (const [from, to, [host, port]] of ranges) {
			const owner = this.#nodeAt({ host: host || teller.at.host, port });
			known.add(owner.address);
			owners.fill(owner, from, to + 1);
		}
		const moved = new Set<number>();
		for (let slot = 0; slot < SLOTS; slot++) {
			if (this.#owners[slot] && this.#owners[slot] !== owners[slot]) moved.add(slot);
			this.#owners[slot] = owners[slot];
		}
		if (moved.size > 0) this.onTurnover((slot) => moved.has(slot));
		for (const [address, node] of this.#nodes) {
			if (known.has(address) || performance.now() - node.wantedAt < WANTED_MS) continue;
			node.close();
			this.#nodes.delete(address);
		}
	}

	close(): void {
		this.#closed = true;
		for (const node of this.#nodes.values()) node.close();
	}

	#nodeAt(at: HostAndPort): Node {
		const address = addressOf(at);
		const known = this.#nodes.get(address);
		if (known) return known;
		const node: Node = new Node(this.url, at, () => this.onTurnover((slot) => this.#owners[slot] === node));
		this.#nodes.set(address, node);
		if (this.#closed) node.close();
		return node;
	}
}

/** A call that went wrong, and where. */
interface Failure {
	node: Node;
	error: unknown;
}

/** What was met on the way of one call. */
interface Trouble {
	deadline: number;
	tries: number;
	redirections: number;
	/** Set when it was sent once and no answer came: it may have been done. */
	lost: boolean;
	provided?: boolean;
}

const failure = (error: unknown, { lost }: { lost: boolean }, passing: boolean): StoreError =>
	new StoreError(wordsOf(error), { applied: lost ? "unknown" : "no", passing, cause: error });

/** Names the keys, of which one is what it should not be. */
function wrongType(call: Call, error: unknown): StoreError {
	const keys = call[0] === "FCALL" ? call.slice(3, 3 + Number(call[2])) : call.slice(1, 2);
	const named = keys.slice(0, MOST_NAMED).join(", ");
	const more = keys.length > MOST_NAMED ? ` and ${keys.length - MOST_NAMED} more` : "";
	const message = `the store is damaged: of the keys ${named}${more} one holds something else than was put there`;
	return new StoreError(`${message} (${wordsOf(error)}); run \`flowfabric doctor\` on the store`, {
		applied: call[0] === "FCALL" ? "unknown" : "no",
		passing: false,
		code: "store_corrupt",
		cause: error,
	});
}

/** Keys that an error names at most. */
const MOST_NAMED = 4;

type SlotRange = [from: number, to: number, primary: [host: string | null, port: number, id: string], ...unknown[]];

/** An address as a redirection names it; without a host it means the one that told of it. */
function hostAndPort(address: string, teller: Node): HostAndPort {
	const colon = address.lastIndexOf(":");
	return { host: address.slice(0, colon) || teller.at.host, port: Number(address.slice(colon + 1)) };
}

function within<T>(ms: number, promise: Promise<T>): Promise<T> {
	return new Promise((resolve, reject) => {
		const timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
		promise.then(resolve, reject).finally(() => clearTimeout(timer));
	});
}
