/** All that is piped in. */
export async function readAll(stdin: AsyncIterable<Uint8Array>): Promise<Buffer> {
	const chunks: Uint8Array[] = [];
	for await (const chunk of stdin) chunks.push(chunk);
	return Buffer.concat(chunks);
}
