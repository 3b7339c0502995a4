import { StoreError } from "../port.ts";
import { faultOf, isAuthError } from "./fault.ts";
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
	readonly url: ValkeyUrl;
	readonly #nodes = new Map<string, Node>();
	/** By slot; a single server has all. */
	readonly #owners: (Node | undefined)[] = new Array(SLOTS);
	#refreshing: Promise<boolean> | undefined;
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

	async #callAgain(
		slot: number,
		call: Call,
		bytes: boolean,
		failed: { node: Node; error: unknown } | undefined,
	): Promise<unknown> {
		const deadline = performance.now() + CALL_BUDGET_MS;
		let last = failed;
		let asked: Node | undefined;
		let lost = false;
		let provided = false;
		for (let tries = 0, redirections = 0; ; tries++) {
			if (last) {
				asked = undefined;
				const { node, error } = last;
				const fault = faultOf(error);
				const refuse = (applied: "no" | "unknown", passing: boolean) =>
					new StoreError(messageOf(error), { applied: lost ? "unknown" : applied, passing, cause: error });
				if (fault.kind === "refused") throw refuse("no", false);
				if (fault.kind === "broken") throw refuse("unknown", false);
				if (isAuthError(node.lastError)) throw refuse("no", false);
				if (fault.kind === "lost") lost = true;
				if (this.#closed || performance.now() >= deadline) throw refuse("no", true);
				if (fault.kind === "no_function") {
					if (provided) throw refuse("no", false);
					provided = true;
					await this.provide(node);
				} else if ((fault.kind === "moved" || fault.kind === "asked") && redirections++ < REDIRECTIONS) {
					const to = this.#nodeAt(hostAndPort(fault.address, node));
					to.wantedAt = performance.now();
					if (fault.kind === "asked") asked = to;
					else this.#moved(slot, to);
				} else {
					if (fault.kind === "read_only") node.reconnect();
					redirections = 0;
					await this.#settle(node, tries);
				}
			} else if (tries > 0) await this.#settle(undefined, tries);
			const node = asked ?? (await this.#ownerOf(slot));
			if (!node) {
				if (this.#closed || performance.now() >= deadline) {
					throw new StoreError(`no server has slot ${slot}`, { applied: lost ? "unknown" : "no", passing: true });
				}
				last = undefined;
				continue;
			}
			try {
				if (!node.isConnected) await node.connected(Math.min(PAUSE_MAX_MS, Math.max(0, deadline - performance.now())));
				return await (asked ? node.sendAsked(call, bytes) : node.send(call, bytes));
			} catch (error) {
				last = { node, error };
			}
		}
	}

	/** Waits a little, and longer each time, while servers start, slots move or a primary is replaced. */
	async #settle(node: Node | undefined, tries: number): Promise<void> {
		const ms = Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** Math.min(tries, 10)) * (0.5 + Math.random() / 2);
		await new Promise((resolve) => setTimeout(resolve, ms));
		if (this.url.cluster) await this.refresh();
		else await node?.connected(PAUSE_MAX_MS);
	}

	async #ownerOf(slot: number): Promise<Node | undefined> {
		if (!this.#owners[slot] && this.url.cluster) await this.refresh();
		return this.#owners[slot];
	}

	#moved(slot: number, to: Node): void {
		this.#owners[slot] = to;
		void this.refresh();
	}

	/** Asks the cluster who has which slot; false when nobody answered. */
	refresh(): Promise<boolean> {
		this.#refreshing ??= this.#refresh().finally(() => {
			this.#refreshing = undefined;
		});
		return this.#refreshing;
	}

	async #refresh(): Promise<boolean> {
		for (const node of this.nodes) {
			try {
				const ranges = (await within(LOOK_MS, node.send(["CLUSTER", "SLOTS"]))) as SlotRange[];
				if (this.#closed) return false;
				this.#learn(node, ranges);
				return true;
			} catch {
				// The next one may know.
			}
		}
		return false;
	}

	#learn(teller: Node, ranges: readonly SlotRange[]): void {
		const known = new Set<string>(this.url.hosts.map(addressOf));
		const owners: (Node | undefined)[] = new Array(SLOTS);
		for (const [from, to, [host, port]] of ranges) {
			const owner = this.#nodeAt({ host: host || teller.at.host, port });
			known.add(owner.address);
			owners.fill(owner, from, to + 1);
		}
		for (let slot = 0; slot < SLOTS; slot++) this.#owners[slot] = owners[slot];
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
		const node = new Node(this.url, at);
		this.#nodes.set(address, node);
		if (this.#closed) node.close();
		return node;
	}
}

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

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
