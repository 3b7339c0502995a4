import type { Condition } from "../../src/kernel/suspension/condition.ts";

/** A signal as far as conditions ask. */
export interface ModelSignal {
	name: string;
	/** The key of its waitpoint. */
	waitpoint: string;
	source?: { type: string; identity: string } | null;
}

/** What a node that counts signals makes of them. */
interface Tally<S> {
	needs: number;
	counted: S[];
}

/**
 * What conditions mean, once more, written from the specification and not from the kernel: a tree of nodes, each of which
 * looks through all the signals for itself.
 */
export class ConditionModel<S extends ModelSignal> {
	readonly #condition: Condition;
	readonly #first: string | undefined;
	readonly #signals: readonly S[];

	/** `signals` in the order in which they count, `keys` those of the waitpoints of the suspension. */
	constructor(condition: Condition, keys: readonly string[], signals: readonly S[]) {
		this.#condition = condition;
		this.#first = keys[0];
		this.#signals = signals;
	}

	get holds(): boolean {
		return this.#holds(this.#condition);
	}

	/** The signals by which it holds. */
	get satisfying(): Set<S> {
		return new Set(this.#satisfying(this.#condition));
	}

	/** Signals that count for some node. */
	get counted(): Set<S> {
		return new Set(this.#tallies(this.#condition).flatMap(({ counted }) => counted));
	}

	/** How many signals each node counts that counts any, from left to right. */
	get counts(): number[] {
		return this.#tallies(this.#condition).map(({ counted }) => counted.length);
	}

	#holds(node: Condition): boolean {
		if ("allOf" in node) return node.allOf.every((child) => this.#holds(child));
		if ("anyOf" in node) return node.anyOf.some((child) => this.#holds(child));
		const { needs, counted } = this.#tally(node);
		return counted.length === needs;
	}

	#satisfying(node: Condition): S[] {
		if (!this.#holds(node)) return [];
		if ("allOf" in node) return node.allOf.flatMap((child) => this.#satisfying(child));
		if ("anyOf" in node) return node.anyOf.flatMap((child) => this.#satisfying(child));
		return this.#tally(node).counted;
	}

	#tallies(node: Condition): Tally<S>[] {
		if ("allOf" in node) return node.allOf.flatMap((child) => this.#tallies(child));
		if ("anyOf" in node) return node.anyOf.flatMap((child) => this.#tallies(child));
		return [this.#tally(node)];
	}

	#tally(node: Exclude<Condition, { allOf: unknown } | { anyOf: unknown }>): Tally<S> {
		if ("operatorOnly" in node || "timeoutOnly" in node) return { needs: Number.POSITIVE_INFINITY, counted: [] };
		if ("count" in node) {
			const { n, distinctBy, match, waitpoints } = node.count;
			const seen = new Set<string>();
			const counted = this.#signals.filter((signal) => {
				if (match !== undefined && signal.name !== match) return false;
				if (waitpoints && !waitpoints.includes(signal.waitpoint)) return false;
				const value = JSON.stringify(distinctValueOf(signal, distinctBy));
				if (seen.has(value) || seen.size === n) return false;
				seen.add(value);
				return true;
			});
			return { needs: n, counted };
		}
		const at = node.waitpoint ?? this.#first;
		const meant = this.#signals.find(
			(signal) => signal.waitpoint === at && ("anySignal" in node || signal.name === node.signal),
		);
		return { needs: 1, counted: meant ? [meant] : [] };
	}
}

function distinctValueOf(
	{ name, waitpoint, source }: ModelSignal,
	distinctBy: "waitpoint" | "signal" | "source",
): unknown {
	switch (distinctBy) {
		case "waitpoint":
			return waitpoint;
		case "signal":
			return name;
		case "source":
			return source ? [source.type, source.identity] : null;
	}
}
