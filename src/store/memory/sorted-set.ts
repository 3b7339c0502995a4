import type { QueuePosition } from "../port.ts";

const CHUNK = 512;

const before = (a: QueuePosition, b: QueuePosition): boolean =>
	a.score < b.score || (a.score === b.score && a.key < b.key);

/** Entries ascending by score then key, kept in short chunks so that neither end grows dear with the size. */
export class SortedSet {
	#chunks: QueuePosition[][] = [];
	size = 0;

	add(entry: QueuePosition): void {
		const at = this.#chunkFor(entry);
		const chunk = this.#chunks[at];
		if (!chunk) {
			this.#chunks.push([entry]);
			this.size += 1;
			return;
		}
		const place = lowerBound(chunk, entry);
		const there = chunk[place];
		if (there && there.key === entry.key && there.score === entry.score) return;
		chunk.splice(place, 0, entry);
		this.size += 1;
		if (chunk.length > CHUNK) this.#chunks.splice(at + 1, 0, chunk.splice(CHUNK / 2));
	}

	remove(entry: QueuePosition): void {
		const at = this.#chunkFor(entry);
		const chunk = this.#chunks[at];
		if (!chunk) return;
		const place = lowerBound(chunk, entry);
		const there = chunk[place];
		if (!there || there.key !== entry.key || there.score !== entry.score) return;
		chunk.splice(place, 1);
		this.size -= 1;
		if (chunk.length === 0) this.#chunks.splice(at, 1);
	}

	has(entry: QueuePosition): boolean {
		const chunk = this.#chunks[this.#chunkFor(entry)] ?? [];
		const there = chunk[lowerBound(chunk, entry)];
		return there !== undefined && there.key === entry.key && there.score === entry.score;
	}

	first(count: number, after?: QueuePosition): QueuePosition[] {
		const found: QueuePosition[] = [];
		let at = after ? this.#chunkFor(after) : 0;
		let place = 0;
		if (after) {
			const chunk = this.#chunks[at] ?? [];
			place = lowerBound(chunk, after);
			const there = chunk[place];
			if (there && there.key === after.key && there.score === after.score) place += 1;
		}
		for (; at < this.#chunks.length && found.length < count; at++, place = 0) {
			const chunk = this.#chunks[at] ?? [];
			for (let i = place; i < chunk.length && found.length < count; i++) found.push(chunk[i] as QueuePosition);
		}
		return found;
	}

	last(count: number): QueuePosition[] {
		const found: QueuePosition[] = [];
		for (let at = this.#chunks.length - 1; at >= 0 && found.length < count; at--) {
			const chunk = this.#chunks[at] ?? [];
			for (let i = chunk.length - 1; i >= 0 && found.length < count; i--) found.push(chunk[i] as QueuePosition);
		}
		return found;
	}

	/** The last chunk that starts at or before the entry, else the first. */
	#chunkFor(entry: QueuePosition): number {
		let low = 0;
		let high = this.#chunks.length - 1;
		while (low < high) {
			const middle = (low + high + 1) >> 1;
			const head = this.#chunks[middle]?.[0];
			if (head && before(entry, head)) high = middle - 1;
			else low = middle;
		}
		return low;
	}
}

function lowerBound(chunk: readonly QueuePosition[], entry: QueuePosition): number {
	let low = 0;
	let high = chunk.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (before(chunk[middle] as QueuePosition, entry)) low = middle + 1;
		else high = middle;
	}
	return low;
}
