#include "thread-pool.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace satchel {
namespace {

struct Job {
  std::size_t blocks = 0;
  const std::function<void(std::size_t)>* body = nullptr;
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> done{0};
  std::mutex mutex;
  std::condition_variable finished;
  std::exception_ptr failure;
};

// Takes blocks until none is left. A thread that wakes up late finds no block and never touches `body`, which by then may be gone.
void takeBlocks(Job& job) {
  for (;;) {
    const std::size_t block = job.next.fetch_add(1, std::memory_order_relaxed);
    if (block >= job.blocks) return;
    try {
      (*job.body)(block);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(job.mutex);
      if (!job.failure) job.failure = std::current_exception();
    }
    if (job.done.fetch_add(1, std::memory_order_acq_rel) + 1 == job.blocks) {
      const std::lock_guard<std::mutex> lock(job.mutex);
      job.finished.notify_all();
    }
  }
}

class Pool {
 public:
  void run(std::size_t blocks, const std::function<void(std::size_t)>& body) {
    const std::lock_guard<std::mutex> oneCaller(callers_);
    const unsigned wanted = static_cast<unsigned>(std::min<std::size_t>(threadCount(), blocks));
    if (wanted <= 1) {
      for (std::size_t block = 0; block < blocks; ++block) body(block);
      return;
    }
    auto job = std::make_shared<Job>();
    job->blocks = blocks;
    job->body = &body;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      grow(threadCount() - 1);
      job_ = job;
      helpers_ = wanted - 1;
    }
    wake_.notify_all();
    takeBlocks(*job);
    waitFor(*job);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      job_.reset();
      helpers_ = 0;
    }
    if (job->failure) std::rethrow_exception(job->failure);
  }

  void stop() {
    const std::lock_guard<std::mutex> oneCaller(callers_);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (auto& thread : threads_) thread.join();
    threads_.clear();
    stopping_ = false;
  }

 private:
  void grow(std::size_t wanted) {
    try {
      while (threads_.size() < wanted) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // The system grants no more threads: the ones there are, or the caller alone, do the same work.
    }
  }

  static void waitFor(Job& job) {
    // The last blocks of other threads end within microseconds of ours; sleeping at once would cost more than that.
    for (int spin = 0; spin < 2000; ++spin) {
      if (job.done.load(std::memory_order_acquire) == job.blocks) return;
    }
    std::unique_lock<std::mutex> lock(job.mutex);
    job.finished.wait(lock, [&job] { return job.done.load(std::memory_order_acquire) == job.blocks; });
  }

  void work() {
    for (;;) {
      std::shared_ptr<Job> job;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        wake_.wait(lock, [this] { return stopping_ || helpers_ > 0; });
        if (stopping_) return;
        helpers_ -= 1;
        job = job_;
      }
      takeBlocks(*job);
    }
  }

  std::mutex callers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::thread> threads_;
  std::shared_ptr<Job> job_;
  unsigned helpers_ = 0;
  bool stopping_ = false;
};

std::atomic<unsigned> requestedThreads{0};
std::mutex usersMutex;
unsigned users = 0;

// Never destroyed: at process exit other threads may still stand in it.
Pool& pool() {
  static Pool* const instance = new Pool();
  return *instance;
}

}  // namespace

void setThreadCount(unsigned count) { requestedThreads.store(std::min(count, 256u)); }

unsigned threadCount() {
  const unsigned requested = requestedThreads.load();
  return requested > 0 ? requested : std::max(1u, std::thread::hardware_concurrency());
}

void parallelBlocks(std::size_t blocks, const std::function<void(std::size_t)>& body) { pool().run(blocks, body); }

void retainThreadPool() {
  const std::lock_guard<std::mutex> lock(usersMutex);
  users += 1;
}

void releaseThreadPool() {
  const std::lock_guard<std::mutex> lock(usersMutex);
  users -= 1;
  if (users == 0) pool().stop();
}

}  // namespace satchel
