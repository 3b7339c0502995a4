/**
 * A `map` of questions to the store, so many at a time: however many there are, others' come in between. Results stand in
 * the order of the items; the first failure is the answer.
 */
export async function mapBounded<T, R>(items: readonly T[], most: number, one: (item: T) => Promise<R>): Promise<R[]> {
	const results = new Array<R>(items.length);
	let next = 0;
	const goOn = async (): Promise<void> => {
		while (next < items.length) {
			const n = next++;
			results[n] = await one(items[n] as T);
		}
	};
	await Promise.all(Array.from({ length: Math.min(most, items.length) }, goOn));
	return results;
}
