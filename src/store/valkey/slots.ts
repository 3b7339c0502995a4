/** How many slots a cluster has; a key belongs to the one its hash tag, or the whole key, hashes to. */
export const SLOTS = 16384;

/** CRC16-XMODEM, the cluster's own hash, of a hash tag or of a key without one. */
export function slotOf(tag: string): number {
	let crc = 0;
	for (const byte of Buffer.from(tag)) {
		crc ^= byte << 8;
		for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
		crc &= 0xffff;
	}
	return crc % SLOTS;
}

/**
 * A hash tag for every partition, so chosen that partition p of n has a slot in the p-th of n equal parts: however many
 * primaries share the slots, each gets its share of the partitions. By their plain numbers, eight partitions would put
 * four on one of three.
 */
export function partitionTags(partitions: number): number[] {
	const tags: number[] = new Array(partitions);
	let missing = partitions;
	for (let tag = 0; missing > 0; tag++) {
		const part = Math.floor((slotOf(String(tag)) * partitions) / SLOTS);
		if (tags[part] !== undefined) continue;
		tags[part] = tag;
		missing -= 1;
	}
	return tags;
}
