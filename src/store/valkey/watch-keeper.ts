import { Watches } from "../watches.ts";

/** A watch ends by itself after so long, so that an engine that dies leaves none behind for ever. */
export const WATCH_MS = 90_000;

/** Which records are watched here, partition by partition; tells the server again while they are. */
export class WatchKeeper {
	readonly #watches: readonly Watches[];
	readonly #tell: (partition: number, keys: readonly string[]) => void;
	readonly #timer: NodeJS.Timeout;

	/** `tell` says to the server that these records are watched from now on. */
	constructor(partitions: number, tell: (partition: number, keys: readonly string[]) => void) {
		this.#watches = Array.from({ length: partitions }, () => new Watches());
		this.#tell = tell;
		this.#timer = setInterval(() => this.tellAll(), WATCH_MS / 3);
		this.#timer.unref();
	}

	/** The server is told at once, ahead of whatever is asked next. */
	add(partition: number, key: string): () => void {
		const watches = this.#watches[partition];
		if (!watches) throw new RangeError(`no partition ${partition}`);
		if (!watches.has(key)) this.#tell(partition, [key]);
		return watches.add(key);
	}

	/** Nobody takes a watch back from the server: others may have it too. */
	has(partition: number, key: string): boolean {
		return this.#watches[partition]?.has(key) ?? false;
	}

	tellAll(): void {
		this.#watches.forEach((watches, partition) => {
			if (watches.size > 0) this.#tell(partition, [...watches.keys()]);
		});
	}

	close(): void {
		clearInterval(this.#timer);
	}
}
