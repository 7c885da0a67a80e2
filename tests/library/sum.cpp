// A C++ program outside the tree: adds up the counts of the files given, with one thread each.
#include <imghist.h>

#include <iostream>
#include <memory>
#include <thread>
#include <vector>

int main(int argc, char **argv)
{
    ih_settings settings = {};
    settings.device = "cpu";
    ih_error err = {};
    ih_context *opened = nullptr;
    if (ih_context_open(&settings, sizeof settings, &opened, &err) != IH_OK) {
        std::cerr << err.message << '\n';
        return 1;
    }
    std::unique_ptr<ih_context, void (*)(ih_context *)> context(opened, ih_context_close);
    std::vector<ih_counts *> counts(argc, nullptr);
    std::vector<ih_status> statuses(argc, IH_OK);
    std::vector<std::thread> threads;
    for (auto &c : counts)
        if (ih_counts_open(&c, nullptr) != IH_OK)
            return 1;
    for (int i = 1; i < argc; i++)
        threads.emplace_back(
            [&, i] { statuses[i] = ih_count_file(context.get(), argv[i], counts[i], nullptr); });
    for (auto &thread : threads)
        thread.join();
    for (int i = 1; i < argc; i++)
        if (statuses[i] != IH_OK || ih_counts_add(counts[0], counts[i], &err) != IH_OK)
            std::cerr << argv[i] << ": " << ih_status_text(statuses[i]) << '\n';
    ih_summary summary;
    ih_counts_summary(counts[0], &summary, sizeof summary);
    std::cout << summary.n_images << " images, " << summary.n_pixels << " pixels\n";
    for (auto c : counts)
        ih_counts_close(c);
    return 0;
}
