import { expect, test } from "vitest";
import { type CachedRecord, RecordCache } from "../../src/engine/partition/record-cache.ts";

const CAPACITY = 100;
const entry = (chars: number): CachedRecord => ({ record: {}, version: 1, places: [], chars });
const nothing = () => false;

function kept(cache: RecordCache, count: number): number[] {
	return Array.from({ length: count }, (_, n) => n).filter((n) => cache.get(`k${n}`));
}

function filled(count: number, chars: number): RecordCache {
	const cache = new RecordCache(CAPACITY);
	for (let n = 0; n < count; n++) cache.set(`k${n}`, entry(chars));
	return cache;
}

test("small records are bounded by their number, the oldest go first", () => {
	const cache = filled(110, 500);
	cache.set("k0", entry(500));
	cache.trim(nothing);
	expect(kept(cache, 110)).toEqual([0, ...Array.from({ length: 99 }, (_, n) => n + 11)]);
});

test("large ones are bounded by what they take together", () => {
	const cache = filled(50, 64 * 1024);
	cache.trim(nothing);
	expect(kept(cache, 50)).toEqual([49]);
});

test("what grew in the store counts as what it has become, and what is gone no more", () => {
	const cache = filled(3, 0);
	for (const n of [0, 1]) cache.settle(cache.get(`k${n}`) as CachedRecord, 2, 60 * 1024);
	cache.delete("k0");
	cache.trim(nothing);
	expect(kept(cache, 3)).toEqual([1, 2]);
	cache.set("k2", entry(60 * 1024));
	cache.trim(nothing);
	expect(kept(cache, 3)).toEqual([2]);
});

test("what is needed next stays, and what is on its way to the store", () => {
	const cache = filled(4, 64 * 1024);
	(cache.get("k1") as CachedRecord).unit = {} as never;
	cache.trim((key) => key === "k0");
	expect(kept(cache, 4)).toEqual([0, 1]);
});
