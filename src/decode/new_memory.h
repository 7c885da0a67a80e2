/*
 * What new memory holds. A decoder that leaves bytes unwritten is found by decoding twice, with new
 * memory filled in two ways.
 */
#ifndef IH_DECODE_NEW_MEMORY_H
#define IH_DECODE_NEW_MEMORY_H

/* Makes malloc fill new memory with a value, 1 to 255; 0: leave it as it is. Without effect where
 * the C library cannot. The setting is the process's: only its owner changes it, and leaves 0.
 * With a value, the stack is filled once, where functions that the caller calls next have their
 * variables. */
void ih_new_memory_fill(int value);

/* One thread owns the setting, and others wait. After fork() the child's setting is 0, with no
 * owner: that thread is not in the child. */
void ih_new_memory_take(void);
void ih_new_memory_give(void);

#endif
