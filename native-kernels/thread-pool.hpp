// A pool of threads that stays alive between calls. Work is a fixed number of numbered blocks; which thread takes which block is
// left to chance, so a block must write only its own results. Then results cannot depend on the number of threads.
#pragma once

#include <cstddef>
#include <functional>

namespace satchel {

/** Runs body(0) .. body(blocks - 1), each once, on the calling thread and the pool; returns when all are done. */
void parallelBlocks(std::size_t blocks, const std::function<void(std::size_t)>& body);

/** Threads used by the next calls, the calling one included; 0 means one a processor. */
void setThreadCount(unsigned count);
unsigned threadCount();

/** One more (one fewer) environment uses the pool; the last one to leave joins the threads. */
void retainThreadPool();
void releaseThreadPool();

}  // namespace satchel
